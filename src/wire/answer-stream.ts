import { AnswerReader } from './http1/answer-reader.ts';
import type { AnswerHead } from './http1/read-head.ts';

export interface BodyReader {
  /** Takes the next bytes of the connection; true once the body is complete. Throws when they are no such answer. */
  push(bytes: Buffer): boolean;
}

/**
 * Reads the body of one answer to a GET and gives it piece by piece as it comes. Only what an agent-server sends:
 * status 200 and chunks. Without promises, because a controller holds an answer of every agent open: node:http takes
 * ten times the memory, a generator three times.
 */
export function createBodyReader(onPiece: (piece: Buffer) => void): BodyReader {
  const reader = new AnswerReader('GET', { interim: () => undefined, head: checkHead, data: onPiece });
  return {
    push(bytes) {
      reader.push(bytes);
      return reader.done;
    },
  };
}

function checkHead({ status, body }: AnswerHead): void {
  if (status !== 200) throw new Error(`answered ${status}`);
  if (body.kind !== 'chunked') throw new Error('the answer is no stream');
}
