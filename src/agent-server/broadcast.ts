/** One teller, any number of listeners, called in the order they came. */
export interface Broadcast<T> {
  tell(event: T): void;
  /** Returns the function that stops it. */
  listen(listener: (event: T) => void): () => void;
}

export function createBroadcast<T>(): Broadcast<T> {
  const listeners = new Set<(event: T) => void>();
  return {
    tell(event) {
      for (const listener of [...listeners]) listener(event);
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
