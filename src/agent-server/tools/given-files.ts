import type { Given, GivenFile, OpenGiven, Published } from '../blobs/publish.ts';

/** The files that one call of a tool gives its client. */
export interface GivenFiles {
  /** Opens it at once: its tool may remove it, or write another of its name, when it has said the line. */
  add(file: GivenFile): void;
  /** What is told of them, in their order. */
  taken(): Promise<readonly Given[]>;
  /** The call came to nothing: no file of it stays, and what is not copied yet is not. */
  drop(): Promise<void>;
}

/** Of one call. */
const mostFiles = 100;

/** Copies one file after the other: each has buffers in the agent's memory. */
export function gatherGiven(open: OpenGiven): GivenFiles {
  const files: Promise<Published | undefined>[] = [];
  const dropped = new AbortController();
  const { signal } = dropped;
  const settled = async () => (await Promise.all(files)).filter((file) => file !== undefined);
  return {
    add(file) {
      if (files.length >= mostFiles || signal.aborted) return;
      const before = files.at(-1) ?? Promise.resolve();
      const opened = open(file);
      files.push(
        before.then(() => (signal.aborted ? opened.close().then(() => undefined) : opened.publish(signal))),
      );
    },
    taken: async () => (await settled()).map(({ content }) => content),
    async drop() {
      dropped.abort();
      await Promise.all((await settled()).map(({ takeBack }) => takeBack()));
    },
  };
}
