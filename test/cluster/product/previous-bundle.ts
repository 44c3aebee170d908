import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout } from '#test/fixtures/workspace/workspace.ts';
import { buildahBuilder } from '../../../scripts/images/builder.ts';
import { imagesFolder } from '../../../scripts/images/ensure.ts';
import { tagOf } from '../../../scripts/images/recipes.ts';
import { run, tryRun } from '../run.ts';

/** The oldest agent-server that runs in pods. */
const commit = 'ebea421';
const tag = 'localhost/ploinky/agent-previous:test';

/** What a controller of that time did not say yet is left out; the bundle itself is as it was. */
const program = `process.argv = process.argv.filter((argument) => argument !== '--in-image');
await import('./previous.mjs');
`;
const dockerfile = `ARG AGENT
FROM \${AGENT}
COPY previous.mjs agent-server.mjs /Agent/
`;

export type PreviousImage = { readonly tag: string; readonly archive: string } | { readonly missing: string };

/** The agent image with an agent-server of an earlier commit, in `folder`. The agent image must have been built. */
export async function previousImage(folder: string): Promise<PreviousImage> {
  const known = await tryRun(['git', '-C', checkout, 'cat-file', '-e', `${commit}^{commit}`]);
  if (known.code !== 0) return { missing: `commit ${commit} is not in this clone (git fetch --unshallow)` };
  const source = await mkdtemp(join(tmpdir(), 'previous-'));
  try {
    const unpack = 'git -C "$1" archive "$2" | tar -x -C "$3"';
    await run(['sh', '-c', unpack, 'sh', checkout, commit, source]);
    await symlink(join(checkout, 'node_modules'), join(source, 'node_modules'));
    await run([process.execPath, join(source, 'scripts/build.ts'), 'agent-server']);
    await run(['cp', join(source, 'dist/agent-server.mjs'), join(folder, 'previous.mjs')]);
  } finally {
    await rm(source, { recursive: true, force: true });
  }
  await writeFile(join(folder, 'agent-server.mjs'), program);
  await writeFile(join(folder, 'Dockerfile'), dockerfile);
  const builder = buildahBuilder(imagesFolder());
  const file = join(folder, 'Dockerfile');
  await builder.build({ tag, file, context: folder, args: { AGENT: tagOf('agent') } });
  const archive = join(folder, 'previous.tar');
  await builder.save(tag, archive);
  return { tag, archive };
}
