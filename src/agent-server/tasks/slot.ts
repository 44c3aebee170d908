/**
 * Which replica a durable task is of, in its id: its tasks stay with the replica's workspace, so that another instance
 * in the same slot goes on with them when the one that the id names has gone.
 */
export function slotPlace(slot: number | undefined): string {
  return slot === undefined ? 'durable' : `durable-${slot}`;
}
