import { after, before, describe, test } from 'node:test';
import { applyCases } from './cases/apply.ts';
import { collectCases } from './cases/collect.ts';
import { discoveryCases } from './cases/discovery.ts';
import { listCases } from './cases/list.ts';
import { validationCases } from './cases/validation.ts';
import { watchCases } from './cases/watch.ts';
import { applyDefinitions } from './crds.ts';
import { compareSequences } from './differential/property.ts';
import { compareKubectl } from './kubectl.ts';
import { compareAnswers } from './parity.ts';
import { type Server, serversUnderTest } from './servers.ts';
import { type Bench, createBench } from './suite.ts';

/** The same cases on our server and on the real one: where they differ, ours is wrong. */
const suites = {
  'objects and lists': listCases,
  watches: watchCases,
  'server-side apply': applyCases,
  'our kinds, field by field': validationCases,
  'garbage collection': collectCases,
  discovery: discoveryCases,
};

const { servers } = await serversUnderTest();
const running: Server[] = [];

for (const { name, missing, start } of servers) {
  const skip = missing === undefined ? false : `SKIPPED: ${missing}`;
  describe(name, { skip, timeout: 300_000 }, () => {
    let bench: Bench;
    before(async () => {
      const server = await start();
      running.push(server);
      bench = createBench(server);
    });
    for (const [title, cases] of Object.entries(suites))
      describe(title, () => {
        for (const one of cases) test(one.name, { timeout: 60_000 }, () => one.run(bench));
      });
  });
}

describe('answer by answer', { timeout: 300_000 }, () => compareAnswers(() => running));

describe('sequence by sequence', { timeout: 600_000 }, () => compareSequences(() => running));

describe('kubectl', { timeout: 300_000 }, () => {
  compareKubectl(() => running);
  applyDefinitions(() => running);
});

after(async () => {
  for (const server of running) await server.close();
});
