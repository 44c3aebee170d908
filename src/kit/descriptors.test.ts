import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';

const module_ = join(import.meta.dirname, 'descriptors.ts');

it('closes what a child would inherit, keeps what it is told to', {
  skip: !existsSync('/proc/self/fdinfo') && 'needs /proc',
}, () => {
  const script = `
    const { closeInheritedDescriptors } = await import(process.argv[1]);
    const { execFileSync } = await import('node:child_process');
    const seen = () => execFileSync('ls', ['/proc/self/fd']).toString().trim().split('\\n').map(Number);
    const before = seen().filter((fd) => fd >= 200);
    const closed = closeInheritedDescriptors([201]).filter((fd) => fd >= 200 && fd < 210);
    console.log(JSON.stringify({ before, closed, after: seen().filter((fd) => fd >= 200 && fd < 210) }));`;
  const shell = 'exec 200</dev/null 201</dev/null; exec "$0" --input-type=module -e "$1" "$2"';
  const output = execFileSync('bash', ['-c', shell, process.execPath, script, module_]).toString();
  const { before, closed, after } = JSON.parse(output) as Record<string, number[]>;
  assert.ok(before?.includes(200), 'the control: it is inherited without');
  assert.deepEqual(closed, [200]);
  assert.deepEqual(after, [201]);
});
