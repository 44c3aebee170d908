/** How the parts of an installation are found in a cluster. */

export const defaultHomeNamespace = 'ploinky-system';
export const componentLabel = 'app.kubernetes.io/component';
export const components = ['controller', 'router', 'egress'] as const;
export type Component = (typeof components)[number];

/** Annotation on the router's Service: the URL at which people reach it. */
export const publicUrlAnnotation = 'ploinky.dev/public-url';

export const controllerLease = 'ploinky-controller';
export const routerLeasePrefix = 'ploinky-router-';
/** Port of the router's container when its pod does not say. */
export const routerPort = 8080;

export function selectorOf(component: Component): string {
  return `app.kubernetes.io/name=ploinky,${componentLabel}=${component}`;
}
