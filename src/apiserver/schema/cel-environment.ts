import { Environment } from '@marcbachmann/cel-js';

/**
 * The CEL that rules may use: the standard operators, macros (has, all, exists, exists_one, map, filter), optionals,
 * and of Kubernetes' extensions: strings (contains, startsWith, endsWith, matches, find, split, join, replace, trim,
 * lowerAscii, upperAscii, indexOf, substring). Not: lists (isSorted, sum, min, max), quantity, url, ip, cidr, format, sets. A rule that needs those is refused when the server starts, never skipped.
 */
export function createCelEnvironment(): Environment {
  const environment = new Environment({
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 2000, maxDepth: 50 },
  });
  environment.registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');
  addStrings(environment);
  return environment;
}

function addStrings(environment: Environment): void {
  add(environment, 'string.replace(string, string): string', (text: string, from: string, to: string) =>
    text.replaceAll(from, to),
  );
  add(environment, 'string.find(string): string', (text: string, pattern: string) => {
    const found = new RegExp(pattern, 'u').exec(text);
    return found === null ? '' : found[0];
  });
}

/** Some of these come with some versions of the library. */
function add(environment: Environment, signature: string, handler: (...args: never[]) => unknown): void {
  try {
    environment.registerFunction(signature, handler as (...args: unknown[]) => unknown);
  } catch {
    // It is there already.
  }
}
