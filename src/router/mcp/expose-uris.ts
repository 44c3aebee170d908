import { isObject } from '#kit/json.ts';
import type { Result } from '#mcp/results.ts';
import { exposeUiLink } from '../catalog/ui-links.ts';

/** How clients see a URI of the agent that answers. */
export type Expose = (uri: string) => string;

/** Every function here gives the same object back when nothing in it changes. */

/** A message of an agent to a client; `method` is that of the request which it answers or belongs to. */
export function exposeInMessage(
  message: Record<string, unknown>,
  method: string,
  expose: Expose,
): Record<string, unknown> {
  const { result, params } = message;
  if (isObject(result)) return replace(message, 'result', exposeInResult(method, result, expose));
  if (!isObject(params)) return message;
  if (message['method'] === 'notifications/resources/updated')
    return replace(message, 'params', exposeMember(params, 'uri', expose));
  if (message['method'] === 'notifications/tasks')
    return replace(message, 'params', exposeTask(params, expose));
  if (message['method'] === 'sampling/createMessage')
    return replace(message, 'params', exposeMessages(params, expose));
  return message;
}

/** A result of tools/call, resources/read, prompts/get, or of a task; every other one has no URIs of resources. */
export function exposeInResult(method: string, result: Result, expose: Expose): Result {
  if (result['resultType'] === 'input_required')
    return replace(result, 'inputRequests', exposeQuestions(result['inputRequests'], expose));
  switch (method) {
    case 'tasks/get':
      return exposeTask(result, expose);
    case 'tasks/result':
    case 'tools/call':
      return exposeUiLink(replace(result, 'content', exposeBlocks(result['content'], expose)), expose);
    case 'resources/read':
      return replace(
        result,
        'contents',
        mapSame(result['contents'], (one) => exposeContents(one, expose)),
      );
    case 'prompts/get':
      return exposeMessages(result, expose);
    default:
      return result;
  }
}

/** A task of 2026-07-28 has the result of its call in it, or what it asks. */
function exposeTask(task: Record<string, unknown>, expose: Expose): Record<string, unknown> {
  const asking = replace(task, 'inputRequests', exposeQuestions(task['inputRequests'], expose));
  const { result } = task;
  return isObject(result) ? replace(asking, 'result', exposeInResult('tools/call', result, expose)) : asking;
}

function exposeQuestions(questions: unknown, expose: Expose): unknown {
  if (!isObject(questions)) return questions;
  let changed = questions;
  for (const [key, question] of Object.entries(questions)) {
    if (isObject(question)) changed = replace(changed, key, exposeInMessage(question, '', expose));
  }
  return changed;
}

function exposeMessages(holder: Record<string, unknown>, expose: Expose): Record<string, unknown> {
  const messages = mapSame(holder['messages'], (message) =>
    isObject(message) ? replace(message, 'content', exposeBlocks(message['content'], expose)) : message,
  );
  return replace(holder, 'messages', messages);
}

/** Content is one block or a list of them. */
function exposeBlocks(content: unknown, expose: Expose): unknown {
  return Array.isArray(content)
    ? mapSame(content, (block) => exposeBlock(block, expose))
    : exposeBlock(content, expose);
}

function exposeBlock(block: unknown, expose: Expose): unknown {
  if (!isObject(block)) return block;
  switch (block['type']) {
    case 'resource_link':
      return exposeUiLink(exposeMember(block, 'uri', expose), expose);
    case 'resource':
      return replace(block, 'resource', exposeContents(block['resource'], expose));
    case 'tool_result':
      return replace(block, 'content', exposeBlocks(block['content'], expose));
    default:
      return block;
  }
}

function exposeContents(contents: unknown, expose: Expose): unknown {
  return isObject(contents) ? exposeUiLink(exposeMember(contents, 'uri', expose), expose) : contents;
}

function exposeMember(holder: Record<string, unknown>, key: string, expose: Expose): Record<string, unknown> {
  const uri = holder[key];
  return typeof uri === 'string' ? replace(holder, key, expose(uri)) : holder;
}

function replace(holder: Record<string, unknown>, key: string, value: unknown): Record<string, unknown> {
  return holder[key] === value ? holder : { ...holder, [key]: value };
}

function mapSame(list: unknown, change: (entry: unknown) => unknown): unknown {
  if (!Array.isArray(list)) return list;
  const changed = list.map(change);
  return changed.some((entry, index) => entry !== list[index]) ? changed : list;
}
