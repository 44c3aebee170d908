/** What is wrong with one field of an object. */
export interface FieldError {
  /** Where, from the object's root: `spec.mcp.tools[0].name`. */
  readonly path: string;
  /** What must hold and what to do, as the end of a sentence that begins with the path. */
  readonly message: string;
}

/** `spec.env[0].name: must be …`, one line an error. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  return errors.map(({ path, message }) => `${path}: ${message}`).join('\n');
}

/** Joins steps into a path as Kubernetes writes it: members by dot, items and odd keys in brackets. */
export function joinPath(root: string, steps: readonly PropertyKey[]): string {
  return steps.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`;
    const name = String(step);
    return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name) ? `${path}.${name}` : `${path}[${name}]`;
  }, root);
}
