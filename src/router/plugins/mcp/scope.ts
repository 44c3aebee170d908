import type { McpSurface } from '#routing/surface.ts';

/** What a session of an aggregate is bound to: the place, not the agents behind it, which change. */
export function scopeOf(surface: McpSurface): string {
  return `mcp ${surface.source} ${surface.place.host} ${surface.place.path}`;
}
