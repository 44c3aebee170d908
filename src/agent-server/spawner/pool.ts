import type { Exit, Template } from '../tools/spawner-protocol.ts';
import {
  startToolProcess,
  type ToolProcess,
  type ToolProcessEvents,
  type ToolProcessHost,
} from './tool-process.ts';

/** Milliseconds after a take until the pool fills up again although the call still runs. */
const refillMs = 100;
/** A template whose waiting processes keep ending is not prewarmed for this long. */
const pauseMs = 30_000;
const toleratedEnds = 3;

/** Processes of one template that wait, started and blocked on stdin. */
export interface Pool {
  /** A waiting process, or a fresh one. Its end is told to `events`. */
  take(events: ToolProcessEvents): ToolProcess;
  /** Fills the pool up now. */
  refill(): void;
  /** Whether the process with this marker waits for a call. */
  isWaiting(marker: string): boolean;
  /** Ends the waiting processes; those that were taken go on. */
  close(): void;
}

interface Waiting {
  readonly process: ToolProcess;
  events: ToolProcessEvents;
}

export function createPool(template: Template, host: ToolProcessHost, nextMarker: () => string): Pool {
  const waiting: Waiting[] = [];
  let earlyEnds = 0;
  let closed = false;

  function startWaiting(): void {
    const entry = { events: whileWaiting() } as { process: ToolProcess; events: ToolProcessEvents };
    entry.process = startToolProcess(template, nextMarker(), host, {
      onFailed: (failure) => entry.events.onFailed(failure),
      onExit: (exit) => entry.events.onExit(exit),
    });
    waiting.push(entry);

    function whileWaiting(): ToolProcessEvents {
      const drop = () => {
        const index = waiting.indexOf(entry);
        if (index !== -1) waiting.splice(index, 1);
        earlyEnds += 1;
        if (earlyEnds === toleratedEnds) setTimeout(resume, pauseMs).unref();
        else refill();
      };
      return { onFailed: drop, onExit: drop };
    }
  }
  function resume(): void {
    earlyEnds = 0;
    refill();
  }
  function refill(): void {
    if (closed || earlyEnds >= toleratedEnds) return;
    while (waiting.length < template.prewarm) startWaiting();
  }
  return {
    take(events) {
      const entry = waiting.shift();
      if (entry === undefined) return startToolProcess(template, nextMarker(), host, events);
      earlyEnds = 0;
      const timer = setTimeout(refill, refillMs);
      entry.events = {
        onFailed: (failure) => events.onFailed(failure),
        onExit(exit: Exit) {
          events.onExit(exit);
          clearTimeout(timer);
          refill();
        },
      };
      return entry.process;
    },
    refill,
    isWaiting: (marker) => waiting.some((entry) => entry.process.marker === marker),
    close() {
      closed = true;
      for (const entry of waiting.splice(0)) entry.process.destroy();
    },
  };
}
