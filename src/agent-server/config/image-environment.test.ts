import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overImage } from './image-environment.ts';

test('an agent has its image’s environment, its own variables over it, and the folders of both', () => {
  const image = {
    PATH: '/deps/node_modules/.bin:/usr/bin',
    NODE_PATH: '/deps/node_modules',
    LANG: 'C',
    HOSTNAME: 'pod-1',
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
    PLOINKY_INSTANCE: 'uid',
    PLOINKY_SLOT: '0',
    TOOL_HOME: '/opt/tool',
  };
  const own = { PATH: '/Agent/bin:/usr/bin', NODE_PATH: '/code/node_modules', LANG: 'C.UTF-8', KEY: 'k' };
  assert.deepEqual(overImage(own, image), {
    PATH: '/deps/node_modules/.bin:/usr/bin:/Agent/bin',
    NODE_PATH: '/deps/node_modules:/code/node_modules',
    LANG: 'C.UTF-8',
    TOOL_HOME: '/opt/tool',
    KEY: 'k',
  });
});

test('without anything of the image’s the agent has what it is given', () => {
  assert.deepEqual(overImage({ PATH: '/usr/bin' }, { PATH: undefined }), { PATH: '/usr/bin' });
});
