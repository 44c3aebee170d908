/** The Secret of a namespace whose keys `valueFrom.alias` names first; `ploinky secret` writes it on a cluster. */
export const secretsSecretName = 'ploinky-secrets';
/** Names that are looked up by nobody: an agent that had the master would be whoever it likes. */
const reserved = /^PLOINKY_(PREVIOUS_)?(MASTER_KEY|DERIVED_MASTER_KEY|WIRE_SECRET)$/;

const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;
const aliasPattern = /^\$([A-Za-z_][A-Za-z0-9_]*)$/;
const escapedPattern = /^\$\$+[A-Za-z_][A-Za-z0-9_]*$/;

export function isSecretName(name: string): boolean {
  return namePattern.test(name) && name.length <= 253;
}

/** Whether the name is the workspace's own and can be neither set nor read. */
export function isReservedName(name: string): boolean {
  return reserved.test(name);
}

/** What a stored text says: another name (`$OTHER`), or a value. `$$OTHER` is the value `$OTHER`. */
export function readStored(text: string): { readonly alias: string } | { readonly value: string } {
  const alias = aliasPattern.exec(text)?.[1];
  if (alias !== undefined) return { alias };
  return { value: escapedPattern.test(text) ? text.slice(1) : text };
}

/** How a value is stored, so that it is read as itself. */
export function storeValue(value: string): string {
  return aliasPattern.test(value) || escapedPattern.test(value) ? `$${value}` : value;
}

export function storeAlias(name: string): string {
  return `$${name}`;
}
