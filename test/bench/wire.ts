import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, CannotRun } from './harness/bench.ts';
import { checkout, lineOf } from './harness/scope.ts';
import { median, medianRatio } from './harness/stats.ts';

type Figure = 'mint' | 'verify' | 'joseSign' | 'joseVerify' | 'joseVerify64';

interface WireRun {
  readonly rounds: readonly Record<Figure, number>[];
  readonly replay: {
    readonly jtis: number;
    readonly bytesPerJti: number;
    readonly totalMiB: number;
    readonly claimMicros: number;
    readonly whenFull: string;
  };
}

/** Tokens beside jose, which others bring along; the product does not use it. */
export const wire: Bench = {
  name: 'wire',
  about: 'minting and verifying invocation tokens beside jose, and the memory of the replay window',
  goals: ['P14-verify-micros', 'P14-over-jose', 'P15-bytes-per-jti', 'P15-million-mib', 'P15-fails-closed'],
  async run(scope) {
    if (!existsSync(join(checkout, 'node_modules/jose'))) {
      throw new CannotRun('jose is not in node_modules; run npm ci');
    }
    const script = join(import.meta.dirname, 'programs/wire-run.ts');
    const { process: child } = scope.start(script, [], { side: 'measured', nodeFlags: ['--expose-gc'] });
    const { rounds, replay } = JSON.parse(await lineOf(child, 'result ', 50_000)) as WireRun;
    const middle = (figure: Figure) => median(rounds.map((taken) => taken[figure]));
    const ratio = medianRatio(
      rounds,
      (taken) => taken.joseVerify64,
      (taken) => taken.verify,
    );
    return {
      tables: [
        {
          title: 'CPU, medians of 5 rounds',
          columns: ['µs each', 'ours', 'jose', 'jose, 64 in flight'],
          rows: [
            ['mint / sign', middle('mint'), middle('joseSign'), ''],
            [
              'verify (ours: with body hash and replay)',
              middle('verify'),
              middle('joseVerify'),
              middle('joseVerify64'),
            ],
          ],
        },
        {
          title: 'Replay window',
          columns: ['ids', 'bytes an id', 'MiB', 'µs a claim', 'one more'],
          rows: [[replay.jtis, replay.bytesPerJti, replay.totalMiB, replay.claimMicros, replay.whenFull]],
        },
      ],
      goals: [
        { name: 'P14-verify-micros', op: '<=', target: 12, unit: 'µs', value: middle('verify') },
        { name: 'P14-over-jose', op: '>=', target: 3, unit: '×', value: ratio },
        { name: 'P15-bytes-per-jti', op: '<=', target: 96, unit: 'B', value: replay.bytesPerJti },
        { name: 'P15-million-mib', op: '<=', target: 100, unit: 'MiB', value: replay.totalMiB },
        {
          name: 'P15-fails-closed',
          op: '>=',
          target: 1,
          unit: 'refused',
          value: replay.whenFull === 'full' ? 1 : 0,
        },
      ],
      samples: { rounds, replay },
    };
  },
};
