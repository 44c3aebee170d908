import type { KubeObject } from './meta.ts';

/** v1 Event: what the recorder writes and `kubectl describe` shows. */
export interface CoreEvent extends KubeObject {
  apiVersion: 'v1';
  kind: 'Event';
  involvedObject: ObjectReference;
  reason?: string;
  message?: string;
  type?: 'Normal' | 'Warning';
  count?: number;
  /** RFC 3339, whole seconds. */
  firstTimestamp?: string;
  lastTimestamp?: string;
  /** RFC 3339 with six fractional digits; null in Events that only have timestamps. */
  eventTime?: string | null;
  source?: { component?: string; host?: string };
  reportingComponent?: string;
  reportingInstance?: string;
  action?: string;
}

/** v1 ObjectReference. */
export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

/** coordination.k8s.io/v1 Lease. Times have exactly six fractional digits (metav1.MicroTime). */
export interface Lease extends KubeObject {
  apiVersion: 'coordination.k8s.io/v1';
  kind: 'Lease';
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

/** v1 Namespace. */
export interface Namespace extends KubeObject {
  apiVersion: 'v1';
  kind: 'Namespace';
  spec?: { finalizers?: string[] };
  status?: { phase?: 'Active' | 'Terminating' };
}
