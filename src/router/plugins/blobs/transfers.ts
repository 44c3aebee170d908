import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Services } from '../../services.ts';

/** Files on their way, by agent: each holds a connection to it, and a client may be slow. */
export interface Transfers {
  /** Counts one until its answer is over; false when there are too many. */
  begin(agent: string, response: ServerResponse): boolean;
}

/** Milliseconds between two looks at what has passed, while files are on their way. */
const lookEveryMs = 10;
/**
 * What so many bytes were read into is freed together: left to itself, the runtime lets a hundred MiB lie. Of more it looks
 * through all memory each time, which takes a third of the CPU of a transfer.
 */
const mostLeftBytes = 4 * 1024 * 1024;

export function createTransfers({
  limits: { blobTransfersPerAgent: most },
  clock,
  reclaim,
}: Pick<Services, 'limits' | 'clock' | 'reclaim'>): Transfers {
  const counts = new Map<string, number>();
  const passing = createPassing();
  let looking = false;

  function look(): void {
    if (passing.bytes() >= mostLeftBytes) {
      passing.forget();
      reclaim?.();
    }
    looking = counts.size > 0;
    if (looking) clock.after(lookEveryMs, look);
    else passing.forget();
  }
  return {
    begin(agent, response) {
      const count = counts.get(agent) ?? 0;
      if (count >= most) return false;
      counts.set(agent, count + 1);
      const passed = passing.add(response.req.socket);
      if (reclaim !== undefined && !looking) {
        looking = true;
        clock.after(lookEveryMs, look);
      }
      response.once('close', () => {
        passed();
        const left = (counts.get(agent) ?? 1) - 1;
        if (left === 0) counts.delete(agent);
        else counts.set(agent, left);
      });
      return true;
    },
  };
}

interface Passing {
  /** Watches what a client's connection carries, until the function that it returns is called. */
  add(socket: Socket): () => void;
  /** That passed since they were forgotten. */
  bytes(): number;
  forget(): void;
}

function createPassing(): Passing {
  /** Transfers with the bytes of their connection when they were counted. */
  const counted = new Map<symbol, { readonly socket: Socket; at: number }>();
  let sum = 0;

  function count(one: { readonly socket: Socket; at: number }): void {
    const at = carriedBy(one.socket);
    sum += at - one.at;
    one.at = at;
  }
  return {
    add(socket) {
      const key = Symbol();
      const one = { socket, at: carriedBy(socket) };
      counted.set(key, one);
      return () => {
        count(one);
        counted.delete(key);
      };
    },
    bytes() {
      for (const one of counted.values()) count(one);
      return sum;
    },
    forget() {
      sum = 0;
    },
  };
}

function carriedBy(socket: Socket): number {
  return socket.bytesRead + socket.bytesWritten;
}
