import { CodedError } from '#kit/errors.ts';
import type { Client } from './client.ts';

/**
 * The same client, whose writes are refused with CodedError `NotLeader` while `mayWrite` is false. A process that
 * was stopped for longer than its lease wakes up in the middle of a reconcile: what it decided then is another's to
 * do now. Reads and watches always pass.
 */
export function fenceWrites(client: Client, mayWrite: () => boolean): Client {
  function check(): void {
    if (mayWrite()) return;
    throw new CodedError('NotLeader', 'this process does not lead (any more), so it writes nothing');
  }
  return {
    get: (resource, key, options) => client.get(resource, key, options),
    find: (resource, key, options) => client.find(resource, key, options),
    list: (resource, options) => client.list(resource, options),
    watch: (resource, options) => client.watch(resource, options),
    getText: (path, options) => client.getText(path, options),
    readText: (path, options) => client.readText(path, options),
    close: () => client.close(),
    async create(resource, object, options) {
      check();
      return client.create(resource, object, options);
    },
    async update(resource, object, options) {
      check();
      return client.update(resource, object, options);
    },
    async patch(resource, key, patch, options) {
      check();
      return client.patch(resource, key, patch, options);
    },
    async apply(resource, object, options) {
      check();
      return client.apply(resource, object, options);
    },
    async applyStatus(resource, current, status, options) {
      check();
      return client.applyStatus(resource, current, status, options);
    },
    async scale(resource, key, replicas, options) {
      check();
      return client.scale(resource, key, replicas, options);
    },
    async delete(resource, key, options) {
      check();
      return client.delete(resource, key, options);
    },
  };
}
