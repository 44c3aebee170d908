import type { AllowedKind } from './allow.ts';
import type { McpSurface } from './surface.ts';

/** Something that is listed, as its agent and as clients call it. */
export interface LimitedItem {
  readonly agent: string;
  readonly name: string;
  readonly exposed: string;
}

/** What one caller may use of a surface. */
export interface SurfaceLimits {
  /** The surface as its Route has it. Names are those that it gives, so that a name means the same to everybody. */
  readonly whole: McpSurface;
  /** The same for callers who may use the same. */
  readonly key: string;
  permits(kind: AllowedKind, item: LimitedItem): boolean;
  /** Scopes of the caller's token or key. */
  readonly held: readonly string[];
  /** The scopes that alone are missing. Undefined: something else is, or nothing. */
  scopesFor(kind: AllowedKind, item: LimitedItem): readonly string[] | undefined;
}

/** The surface with all its agents, whoever looks at it. */
export function wholeOf(surface: McpSurface): McpSurface {
  return surface.limits?.whole ?? surface;
}
