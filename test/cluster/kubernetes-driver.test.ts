import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { testDriverContract } from '#test/contract/driver/suite.ts';
import {
  crashForGood,
  createTestNamespace,
  openStandInDriver,
  type TestNamespace,
} from '#test/fixtures/kubernetes-driver/cluster.ts';
import { ensureImages } from '../../scripts/images/ensure.ts';
import { chooseProvider, startCluster } from './provider.ts';

const progress = (line: string) => process.stderr.write(`${line}\n`);
const provider = await chooseProvider();
const images = 'missing' in provider ? provider : await ensureImages(['agent'], progress);

if ('missing' in images) test('the kubernetes driver on a real cluster', { skip: images.missing });
else testOnCluster(Object.values(images.archives));

function testOnCluster(archives: readonly string[]): void {
  let place: TestNamespace;
  before(async () => {
    const cluster = await startCluster({ keep: true, progress });
    if ('missing' in cluster) throw new Error(cluster.missing);
    await cluster.loadImages(archives);
    place = await createTestNamespace(cluster.kubeconfig);
  });
  after(() => place?.close());

  testDriverContract('kubernetes', async () => {
    const opened = openStandInDriver(place);
    return {
      driver: opened.driver,
      reopen: async () => openStandInDriver(place).driver,
      crash: (instance) => crashForGood(place, instance),
      async cleanUp() {
        await opened.close();
        assert.deepEqual(await place.leftovers(), [], 'something was left behind');
      },
    };
  });
}
