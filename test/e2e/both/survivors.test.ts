import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';

const agent = `
apiVersion: ploinky.dev/v1alpha1
kind: Agent
metadata:
  name: stubborn
spec:
  mcp:
    tools:
      - name: parent
        command: readlink /proc/$PPID/exe
      - name: leave
        command: "(setsid env -i /bin/sleep 4242 </dev/null >/dev/null 2>&1 3>&- &); echo left"
      - name: ignore
        command: "trap '' TERM; (setsid env -i /bin/sleep 4242 </dev/null >/dev/null 2>&1 3>&- &); sleep 4242; sleep 4242"
        timeoutMs: 700
      - name: left
        command: "cat /proc/[0-9]*/cmdline | tr '\\\\0' ' ' | grep -c 'sleep 424[2]' || true"
      - name: zombies
        command: "cat /proc/[0-9]*/stat | grep -c ') Z ' || true"
`;

describe('A call that leaves processes behind, in a sandbox or a pod', {
  skip: missingPlace,
  timeout: 600_000,
}, () => {
  let place: Place;
  before(async () => {
    place = await createPlace({ examples: [] });
    const file = join(place.folder, 'stubborn.yaml');
    await writeFile(file, agent);
    await place.up(file);
  });
  after(() => place?.remove());
  const call = async (tool: string) => {
    const { stdout, stderr } = await place.ploinky('call', 'stubborn', tool);
    return `${stdout}${stderr}`.trim();
  };

  it('runs under the reaper', async () => {
    assert.match(await call('parent'), /\/reaper$/);
  });

  it('takes them with it when it ends, and when its time is over', async () => {
    for (let round = 0; round < 3; round++) assert.equal(await call('leave'), 'left');
    assert.match(await call('ignore'), /timed out after 700ms/);
    assert.equal(await call('left'), '0');
    assert.equal(await call('zombies'), '0');
  });
});
