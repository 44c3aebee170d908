import { isReservedName, readStored, secretsSecretName } from '#api/secrets.ts';
import { messageOf } from '#kit/errors.ts';

/** Somewhere that names of `valueFrom.alias` are looked up. */
export interface AliasSource {
  /** What people call it: `.ploinky/.secrets`. */
  readonly name: string;
  /** Whether what it says may be the name of another one (`$OTHER`). */
  readonly followsAliases: boolean;
  /** Undefined: it does not know the name. Throws when it cannot be read: then nobody behind it is asked. */
  lookup(name: string): { readonly text: string; readonly revision: string } | undefined;
}

/** Where a name led. */
export interface FoundAlias {
  readonly value?: string;
  /** Why there is no value. */
  readonly problem: string;
  readonly origin: string;
}

/** Names on the way of one alias at most. */
const longestChain = 16;

/** Follows a name through the sources, the first that knows it decides, until there is a value. */
export function followAlias(start: string, sources: readonly AliasSource[]): FoundAlias {
  const chain: string[] = [];
  const origins: string[] = [];
  const nowhere = (problem: string): FoundAlias => ({ problem, origin: `alias/${start}@` });
  for (let name = start; ; ) {
    if (chain.includes(name)) return nowhere(`the alias leads back to itself: ${shown([...chain, name])}`);
    chain.push(name);
    if (chain.length > longestChain)
      return nowhere(`the alias is longer than ${longestChain} names: ${shown(chain)}`);
    if (isReservedName(name))
      return nowhere(`${shown(chain)} is the workspace’s own and no agent may read it`);
    const step = ask(name, sources);
    if ('problem' in step)
      return nowhere(chain.length === 1 ? step.problem : `${shown(chain)}: ${step.problem}`);
    origins.push(`${name}@${step.origin}`);
    if (step.alias === undefined)
      return { value: step.value, problem: '', origin: `alias/${origins.join('>')}` };
    name = step.alias;
  }
}

type Step =
  | { readonly alias?: undefined; readonly value: string; readonly origin: string }
  | { readonly alias: string; readonly origin: string }
  | { readonly problem: string };

function ask(name: string, sources: readonly AliasSource[]): Step {
  for (const source of sources) {
    try {
      const found = source.lookup(name);
      if (found === undefined) continue;
      const read = source.followsAliases ? readStored(found.text) : { value: found.text };
      return { ...read, origin: `${source.name}@${found.revision}` };
    } catch (error) {
      return { problem: `"${name}" cannot be looked up: ${messageOf(error)}` };
    }
  }
  const asked = sources.map((source) => source.name).join(', ');
  return {
    problem: `there is no secret "${name}" (looked in: ${asked}); set it with \`ploinky secret set ${name}\``,
  };
}

function shown(chain: readonly string[]): string {
  return chain.join(' → ');
}

/** How the Secret of a namespace is called among the sources. */
export const secretSourceName = `Secret ${secretsSecretName}`;
