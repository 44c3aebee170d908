import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { exercise, features } from './bridge-matrix/matrix.ts';
import { createFindings, renderMatrix } from './bridge-matrix/render.ts';
import { contradiction, matrixFile, readRows } from './bridge-matrix/rows.ts';
import { type Stand, startStand } from './bridge-matrix/stand.ts';
import { nameOf, ways } from './bridge-matrix/ways.ts';

// Everything that clients of either revision can do with servers of either, through a router and an agent-server.

const findings = createFindings();

describe('The matrix of bridges', { timeout: 300_000 }, () => {
  let stand: Stand | undefined;
  before(async () => {
    stand = await startStand(ways);
  });
  after(() => stand?.close());

  for (const way of ways) {
    for (const feature of features) {
      it(`${nameOf(way)}: ${feature.name}`, { timeout: 60_000 }, async () => {
        assert.ok(stand !== undefined);
        await exercise(stand, way, feature, (surface, outcome) =>
          findings.put(surface, way, feature, outcome),
        );
      });
    }
  }

  it('refuses nothing but what docs/bridging.md says', async () => {
    const rows = await readRows();
    const contradictions = findings.all().flatMap(({ surface, way, feature, outcome }) => {
      const wrong = contradiction(rows, way, outcome);
      return wrong === undefined ? [] : [`${surface}, ${nameOf(way)}, ${feature.name}, ${outcome}: ${wrong}`];
    });
    assert.deepEqual(contradictions, []);
  });

  it('is what docs/bridge-matrix.md says (`make generate` writes it)', async () => {
    assert.equal(renderMatrix(findings), await readFile(matrixFile, 'utf8'));
  });
});
