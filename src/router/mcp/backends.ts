import type { McpSurface } from '#routing/surface.ts';
import type { View } from '../catalog/view.ts';
import { RouterError } from '../errors.ts';
import type { Services } from '../services.ts';

/** How long an answer of the surface waits for one of its agents, in milliseconds. */
export function deadlineOf({ limits }: Services, { backends }: McpSurface): number {
  return backends?.deadlineMilliseconds ?? limits.backendDeadlineMs;
}

/** Agents that an error names; the others are counted. */
const mostNamed = 20;

/** Throws RouterError `BackendsMissing` when the surface's Route wants all agents or none and some are missing. */
export function refusePart({ backends }: McpSurface, { errors }: View): void {
  if (backends?.failureMode !== 'Fail' || errors.length === 0) return;
  const named = errors.slice(0, mostNamed).map(({ agent, message }) => `'${agent}' (${message})`);
  const more = errors.length > mostNamed ? ` and ${errors.length - mostNamed} more` : '';
  throw new RouterError('BackendsMissing', `These agents are missing: ${named.join(', ')}${more}.`, {
    agents: errors.map(({ agent }) => agent),
  });
}
