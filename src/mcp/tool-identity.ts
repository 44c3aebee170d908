import { digestOf } from '#kit/digest.ts';
import { withoutHiddenText } from './hidden-text.ts';

/** What makes a tool the tool that somebody once looked at: a change of anything else changes nothing for its users. */
export function toolIdentity(tool: Readonly<Record<string, unknown>>): string {
  const { name, description, inputSchema, outputSchema, annotations } = tool;
  return digestOf({ name, description, inputSchema, outputSchema, annotations }, 12);
}

/** The same question as equal identities; without a hash, and almost free where the tools are alike in every way. */
export function isSameTool(
  left: Readonly<Record<string, unknown>>,
  right: Readonly<Record<string, unknown>>,
): boolean {
  return (
    left === right ||
    JSON.stringify(left) === JSON.stringify(right) ||
    toolIdentity(left) === toolIdentity(right)
  );
}

/** By name. */
export type ToolIdentities = ReadonlyMap<string, string>;

export function identitiesOf(tools: readonly Readonly<Record<string, unknown>>[]): ToolIdentities {
  return new Map(tools.map((tool) => [String(tool['name']), toolIdentity(tool)]));
}

/** Names of tools that are in both and not the same, in order. New ones and ones that are gone are no change. */
export function changedTools(before: ToolIdentities, after: ToolIdentities): string[] {
  return [...before]
    .filter(([name, identity]) => after.has(name) && after.get(name) !== identity)
    .map(([name]) => name)
    .sort();
}

/** The first names, fit for a sentence, and how many more there are. */
export function nameSome(names: readonly string[], most = 10): string {
  const some = names.slice(0, most).map((name) => withoutHiddenText(name).slice(0, 64));
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${some.join(', ')}${more}`;
}
