import assert from 'node:assert/strict';
import { test } from 'node:test';
import { humanDuration } from './age.ts';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

test('ages read as kubectl writes them', () => {
  const table: [seconds: number, text: string][] = [
    [-5, '<invalid>'],
    [0, '0s'],
    [119, '119s'],
    [120, '2m'],
    [3 * minute + 10, '3m10s'],
    [10 * minute, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 5 * minute, '7h5m'],
    [8 * hour, '8h'],
    [47 * hour, '47h'],
    [2 * day + 3 * hour, '2d3h'],
    [8 * day, '8d'],
    [729 * day, '729d'],
    [2 * 365 * day + 21 * day, '2y21d'],
    [9 * 365 * day, '9y'],
  ];
  for (const [seconds, text] of table) assert.equal(humanDuration(seconds * 1000), text);
});
