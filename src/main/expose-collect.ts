import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** V8's collector, as `--expose-gc` gives it. Collects before it returns. */
export type Collect = (options: {
  readonly type: 'major' | 'minor';
  readonly execution?: 'sync';
  readonly flavor?: 'last-resort';
}) => void;

export function exposeCollect(): Collect {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as Collect;
}
