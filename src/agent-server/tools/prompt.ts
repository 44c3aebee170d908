import { isObject } from '#kit/json.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { Prompt } from '#mcp/types.ts';
import type { PromptDefinition } from '../config/mcp-config.ts';

const placeholder = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** As clients see it; without declared arguments, one for each `${name}` in the messages, all required. */
export function listedPrompt(prompt: PromptDefinition): Prompt {
  const { name, title, description } = prompt;
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    arguments: argumentsOf(prompt).map((argument) => ({
      name: argument.name,
      ...(argument.description !== undefined && { description: argument.description }),
      ...(argument.required !== undefined && { required: argument.required }),
    })),
  };
}

/** The messages with `${name}` replaced by the arguments; throws RpcError invalidParams for a missing one. */
export function getPrompt(prompt: PromptDefinition, params: Params): Result {
  const given = isObject(params['arguments']) ? params['arguments'] : {};
  const missing = argumentsOf(prompt).filter(
    (argument) => argument.required && given[argument.name] === undefined,
  );
  if (missing.length > 0) {
    const names = missing.map((argument) => argument.name).join(', ');
    throw new RpcError(errorCodes.invalidParams, `Missing arguments for prompt ${prompt.name}: ${names}`);
  }
  return {
    ...(prompt.description !== undefined && { description: prompt.description }),
    messages: prompt.messages.map((message) => ({
      // MCP knows no system role in prompts.
      role: message.role === 'assistant' ? 'assistant' : 'user',
      content: fillContent(message.content, given),
    })),
  };
}

interface PromptArgument {
  readonly name: string;
  readonly description?: string | undefined;
  readonly required?: boolean | undefined;
}

function argumentsOf(prompt: PromptDefinition): readonly PromptArgument[] {
  if (prompt.arguments !== undefined) return prompt.arguments;
  const names = prompt.messages.flatMap(({ content }) =>
    typeof content === 'string' ? [...content.matchAll(placeholder)].map((match) => match[1] ?? '') : [],
  );
  return [...new Set(names)].map((name) => ({ name, required: true }));
}

function fillContent(content: unknown, given: Record<string, unknown>): unknown {
  if (typeof content === 'string') return { type: 'text', text: fill(content, given) };
  if (isObject(content) && typeof content['text'] === 'string') {
    return { ...content, text: fill(content['text'], given) };
  }
  return content;
}

/** In one pass: a `${…}` inside an argument stays as it is. */
function fill(text: string, given: Record<string, unknown>): string {
  return text.replace(placeholder, (_whole, name: string) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    return value === undefined ? '' : String(value);
  });
}
