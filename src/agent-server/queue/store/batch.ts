import type { Answer, Operation, StoredTask } from './operations.ts';

/** Operations of one transaction: a batch that is larger makes those in it wait longer than it spares the others. */
const largestBatch = 256;
/** Characters of the texts of one transaction, asked and answered each: they are held twice meanwhile. A single operation may have more. */
export const longestBatch = 8 * 1024 * 1024;

/** How many of those that wait share the next transaction. */
export function batchSize(waiting: readonly { readonly operation: Operation }[]): number {
  let characters = 0;
  let count = 0;
  for (const { operation } of waiting) {
    characters += lengthOf(operation);
    if (count === largestBatch || (count > 0 && characters > longestBatch)) break;
    count += 1;
  }
  return count;
}

function lengthOf(operation: Operation): number {
  switch (operation.type) {
    case 'add':
    case 'begin':
      return operation.payload.length;
    case 'settle':
      return (operation.result?.length ?? 0) + operation.log.tail.length;
    case 'ask':
      return operation.requests.length + operation.log.tail.length;
    case 'answer':
      return operation.responses.length;
    default:
      return 0;
  }
}

/** Characters of the texts of an answer. */
export function answerLength(answer: Answer | Error | undefined): number {
  if (typeof answer !== 'object' || answer === null || answer instanceof Error) return 0;
  if ('length' in answer) return answer.length * shortTask;
  const { payload, result, log, inputRequests, inputResponses }: StoredTask = answer;
  return [payload, result, log.tail, inputRequests, inputResponses].reduce(
    (sum, text) => sum + (text?.length ?? 0),
    shortTask,
  );
}

/** Characters of a task without what may be long, about. */
const shortTask = 500;
