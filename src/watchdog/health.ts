import { request } from 'node:http';

/** Where a child answers `GET <path>`: on the loopback or on a Unix socket. */
export type HealthTarget =
  | { readonly port: number; readonly path: string }
  | { readonly socketPath: string; readonly path: string };

export type HealthCheck = (target: HealthTarget, timeoutMs: number) => Promise<HealthResult>;

export interface HealthResult {
  readonly healthy: boolean;
  readonly message?: string;
}

/** Healthy is a 2xx within the time, on a connection of its own. Never rejects. */
export const checkHealth: HealthCheck = (target, timeoutMs) =>
  new Promise((resolve) => {
    const address = 'port' in target ? { host: '127.0.0.1', port: target.port } : target;
    const call = request({
      ...address,
      path: target.path,
      agent: false,
      signal: AbortSignal.timeout(timeoutMs),
    });
    call.once('response', (response) => {
      response.resume();
      const status = response.statusCode ?? 0;
      const healthy = status >= 200 && status < 300;
      resolve(healthy ? { healthy } : { healthy, message: `HTTP status ${status}` });
    });
    call.on('error', (error) => {
      const message = error.name === 'TimeoutError' ? `no answer within ${timeoutMs} ms` : error.message;
      resolve({ healthy: false, message });
    });
    call.end();
  });
