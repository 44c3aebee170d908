/** A result of `tools/call`, before it gets the form of a revision. */
export type ToolResult = Record<string, unknown>;

/** For a client's mistake that its model can mend: a result with isError, not an error of the protocol. */
export function toolError(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

/** A structured result with the same as text, for clients that do not read structured content. */
export function structuredResult(structuredContent: Record<string, unknown>): ToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
}
