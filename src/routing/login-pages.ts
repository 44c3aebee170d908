import type { RoutingTable } from './table.ts';
import type { Target } from './target.ts';

/** Where people log in at the server elsewhere that an agent is; namespace and name of the agent follow. */
export const loginPagesPath = '/auth/upstream/';

export type LoginPageResolution =
  /** `page` is the path without `step`, which is empty or begins with "/". */
  | {
      readonly kind: 'upstream-login';
      readonly target: Target;
      readonly page: string;
      readonly step: string;
    }
  /** For everybody: it has no target, whose access would count. */
  | { readonly kind: 'upstream-client'; readonly page: string };

/** Undefined: there is no such agent. What the agent asks for holds for its page as well. */
export function resolveLoginPage(
  { targets }: Pick<RoutingTable, 'targets'>,
  path: string,
): LoginPageResolution | undefined {
  const match = /^([a-z0-9-]+)\/([a-z0-9-]+)(|\/callback|\/end|\/client\.json)$/.exec(
    path.slice(loginPagesPath.length),
  );
  const [, namespace = '', name = '', step = ''] = match ?? [];
  const target = targets.get(`${namespace}/${name}`);
  if (target === undefined) return undefined;
  const page = `${loginPagesPath}${namespace}/${name}`;
  return step === '/client.json'
    ? { kind: 'upstream-client', page }
    : { kind: 'upstream-login', target, page, step };
}
