import type { PodSecurityContext, SecurityContext } from '#api/cluster-kinds.ts';
import type { PodSettings } from '../settings.ts';

/** A number, because the kubelet looks at no /etc/passwd to see that a user is not root. */
const defaultId = 10_001;

/** Pod Security `restricted`, for the pod as a whole. */
export function podSecurity({ defaults }: PodSettings): PodSecurityContext {
  const {
    runAsUser = defaultId,
    runAsGroup = defaultId,
    fsGroup = defaultId,
  } = defaults?.securityContext ?? {};
  return {
    runAsNonRoot: true,
    runAsUser,
    runAsGroup,
    fsGroup,
    fsGroupChangePolicy: 'OnRootMismatch',
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

/** The same for each container. */
export function containerSecurity({ defaults }: PodSettings): SecurityContext {
  return {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: defaults?.securityContext?.readOnlyRootFilesystem ?? true,
    capabilities: { drop: ['ALL'] },
  };
}
