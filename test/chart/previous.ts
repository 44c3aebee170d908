import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chartFolder } from '../../scripts/chart/helm.ts';
import { run, tryRun } from '../cluster/run.ts';

export interface PreviousChart {
  readonly folder: string;
  /** Where it comes from, for the log. */
  readonly origin: string;
}

/**
 * The chart to upgrade from: that of the last tag `chart-*` that is no tag of this commit; while there is none, this
 * chart under an earlier version, which differs in labels only.
 */
export async function previousChart(folder: string): Promise<PreviousChart> {
  const target = join(folder, 'previous');
  await mkdir(target);
  const tags = await tryRun([
    'git',
    'tag',
    '--list',
    'chart-*',
    '--no-contains',
    'HEAD',
    '--sort=-creatordate',
  ]);
  const tag = tags.code === 0 ? tags.stdout.split('\n')[0] : undefined;
  if (tag !== undefined && tag !== '') {
    await run(['sh', '-c', 'git archive "$1" charts/ploinky | tar -x -C "$2"', 'sh', tag, target]);
    return { folder: join(target, 'charts/ploinky'), origin: `tag ${tag}` };
  }
  await cp(chartFolder, target, { recursive: true });
  const metadata = join(target, 'Chart.yaml');
  const text = await readFile(metadata, 'utf8');
  await writeFile(metadata, text.replace(/^(version|appVersion): .*$/gm, '$1: 0.0.9'));
  return { folder: target, origin: 'this chart as version 0.0.9: there is no tag chart-*' };
}
