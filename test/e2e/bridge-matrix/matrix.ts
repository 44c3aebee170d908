import { cellOf, type Feature } from './feature.ts';
import { askingFeatures } from './features/asking.ts';
import { contentFeatures } from './features/content.ts';
import { taskFeatures } from './features/tasks.ts';
import { tellingFeatures } from './features/telling.ts';
import { type Stand, type Surface, surfaces } from './stand.ts';
import type { Outcome, Way } from './ways.ts';

/** Rows of the matrix, by the headings that they stand under. */
export const groups: Readonly<Record<string, readonly Feature[]>> = {
  'Requests of the client': contentFeatures,
  'What the server tells': tellingFeatures,
  'Questions of the server': askingFeatures,
  Tasks: taskFeatures,
};

export const features: readonly Feature[] = Object.values(groups).flat();

/** Exercises a cell on every surface. Rejects with what is neither as it should be nor a refusal. */
export async function exercise(
  stand: Stand,
  way: Way,
  feature: Feature,
  found: (surface: Surface, outcome: Outcome) => void,
): Promise<void> {
  for (const surface of surfaces) {
    found(surface, await feature.exercise(cellOf(way, stand.url(way, surface))));
  }
}
