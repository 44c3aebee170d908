import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import type { Driver } from '#drivers/driver.ts';
import { call, createDriverHost, type DriverHost } from '#test/fixtures/driver-host.ts';
import type { DriverUnderTest } from './suite.ts';

/** A driver of real processes, whose leftovers are looked for after every test. */
export function realDriver(
  create: (host: DriverHost) => Driver,
): DriverUnderTest & { readonly host: DriverHost } {
  const host = createDriverHost();
  const driver = create(host);
  return {
    host,
    driver,
    reopen: async () => create(host),
    crash: (instance) => call(instance.address, '/crash').then(undefined, () => undefined),
    async cleanUp() {
      await driver.close();
      const left = leftovers(host);
      host.remove();
      assert.deepEqual(left, [], 'something was left behind');
    },
  };
}

/** Folders of runs that were not removed. */
export function leftovers(host: DriverHost): string[] {
  const { workloads, files } = host.places;
  return [workloads, files]
    .filter(existsSync)
    .flatMap((folder) =>
      readdirSync(folder).flatMap((driver) =>
        readdirSync(`${folder}/${driver}`).map((key) => `${folder}/${driver}/${key}`),
      ),
    );
}
