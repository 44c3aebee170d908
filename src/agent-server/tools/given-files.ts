import type { Given, GivenFile, Published, PublishFile } from '../blobs/publish.ts';

/** The files that one call of a tool gives its client. */
export interface GivenFiles {
  /** While the tool runs: it may remove the file afterwards. */
  add(file: GivenFile): void;
  /** What is told of them, in their order. */
  taken(): Promise<readonly Given[]>;
  /** The call came to nothing: no file of it stays, and those that wait are not copied. */
  drop(): Promise<void>;
}

/** Of one call. */
const mostFiles = 100;

/** Copies one file after the other: each has buffers in the agent's memory. */
export function gatherGiven(publish: PublishFile): GivenFiles {
  const files: Promise<Published | undefined>[] = [];
  let dropped = false;
  const settled = async () => (await Promise.all(files)).filter((file) => file !== undefined);
  return {
    add(file) {
      if (files.length >= mostFiles) return;
      const before = files.at(-1) ?? Promise.resolve();
      files.push(before.then(() => (dropped ? undefined : publish(file))));
    },
    taken: async () => (await settled()).map(({ content }) => content),
    async drop() {
      dropped = true;
      await Promise.all((await settled()).map(({ takeBack }) => takeBack()));
    },
  };
}
