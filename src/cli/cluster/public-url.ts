import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Cluster } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { orForbidden } from './errors.ts';
import { type Ingress, ingressResource, type Service, serviceResource } from './objects.ts';
import { publicUrlAnnotation, selectorOf } from './product.ts';

/** Checks a URL that a person wrote; without the slash at its end. Throws `usage`. */
export function parseRouterUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.search === '' &&
    url.hash === '' &&
    url.username === ''
  ) {
    return url.href.replace(/\/+$/, '');
  }
  throw new CliError(
    exitCodes.usage,
    `"${text}" is not the URL of a router`,
    'Write it like https://agents.example.org.',
  );
}

/** The URL that the annotation of the router's Service names, else one of its Ingress. Undefined: neither says. */
export async function findPublicUrl({ client }: Cluster, namespace: string): Promise<string | undefined> {
  const where = { namespace, labelSelector: selectorOf('router') };
  const services = await orForbidden(client.list<Service>(serviceResource, where), undefined);
  for (const { metadata } of services?.items ?? []) {
    const url = metadata.annotations?.[publicUrlAnnotation];
    if (url !== undefined) return parseRouterUrl(url);
  }
  const ingresses = await orForbidden(client.list<Ingress>(ingressResource, where), undefined);
  return ingresses?.items.map(urlOfIngress).find((url) => url !== undefined);
}

/** Undefined while no controller has taken the Ingress up, or when it names no host. */
export function urlOfIngress({ spec, status }: Ingress): string | undefined {
  if ((status?.loadBalancer?.ingress ?? []).length === 0) return undefined;
  const rule = spec?.rules?.find(({ host }) => host !== undefined && !host.startsWith('*'));
  if (rule?.host === undefined) return undefined;
  const secure = spec?.tls?.some(({ hosts = [] }) => hosts.length === 0 || hosts.includes(rule.host ?? ''));
  const path = (rule.http?.paths?.[0]?.path ?? '/').replace(/\/+$/, '');
  return `${secure ? 'https' : 'http'}://${rule.host}${path}`;
}

/** Whether a router answers there, within the time. */
export function answers(url: string, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    const call = send(`${url}/health`, { agent: false, signal: AbortSignal.timeout(timeoutMs) }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    call.once('error', () => resolve(false));
    call.end();
  });
}
