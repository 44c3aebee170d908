import { parseArgs } from 'node:util';

/**
 * Flags of a main file, each `--name value`. Throws with the name of a flag that is unknown or lacks its value.
 * Flags without a default must be given.
 */
export function parseFlags<Name extends string>(
  args: readonly string[],
  flags: Readonly<Record<Name, string | undefined>>,
): Record<Name, string> {
  const names = Object.keys(flags) as Name[];
  const { values } = parseArgs({
    args: [...args],
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
    strict: true,
  });
  const found = names.map((name) => {
    const value = values[name] ?? flags[name];
    if (typeof value !== 'string') throw new Error(`missing --${name}`);
    return [name, value] as const;
  });
  return Object.fromEntries(found) as Record<Name, string>;
}
