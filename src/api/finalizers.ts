/**
 * On an Agent whose workload a host driver makes: it stays until no process, mount, socket or folder of the
 * workload is left. On a cluster no finalizer is set: owner references do it.
 */
export const hostWorkloadFinalizer = 'ploinky.dev/host-workload';
