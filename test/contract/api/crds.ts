import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Server } from './servers.ts';

const folder = fileURLToPath(new URL('../../../crds/', import.meta.url));
/** What the annotations of an object may weigh together: `kubectl apply` keeps the whole object in one of them. */
const mostBytes = 256 * 1024;
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The definitions that the product ships, as `kubectl apply -f crds/` installs them, client-side. */
export function applyDefinitions(running: () => readonly Server[]): void {
  test('kubectl apply -f crds/ works, and works again, with room in the annotation', {
    timeout: 60_000,
  }, async (t) => {
    const real = running()[1];
    if (real === undefined) return t.skip('SKIPPED: needs the real server');
    const apply = async () => {
      const { code, stdout, stderr } = await real.kubectl(['apply', '-f', folder]);
      assert.equal(code, 0, stderr);
      return stdout.trim().split('\n');
    };
    assert.equal((await apply()).length, 3);
    for (const line of await apply()) assert.match(line, /\.ploinky\.dev unchanged$/);
    for (const plural of ['agents', 'routes', 'tasks']) {
      const { body } = await real.client.get(`${path}/${plural}.ploinky.dev`);
      const bytes = Buffer.byteLength(body.metadata.annotations[annotation]);
      t.diagnostic(`${plural}: ${Math.ceil(bytes / 1024)} KiB of ${mostBytes / 1024}`);
      assert.ok(
        bytes < mostBytes / 2,
        `${plural} takes ${bytes} bytes: soon it can only be applied server-side`,
      );
    }
  });
}
