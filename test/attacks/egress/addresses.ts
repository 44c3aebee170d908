/** Who is who in the network of the test; 203.0.113.0/24 stands for the internet. */
export const addresses = { allowed: '203.0.113.10', trap: '203.0.113.66' } as const;

/** Places that no host rule may lead to, each with a trap. */
export const privateAddresses = [
  '127.0.0.1',
  '::1',
  '169.254.169.254',
  'fd00:ec2::254',
  '10.0.0.66',
  '192.168.0.66',
  '100.64.0.66',
] as const;

/** At the trap's address; at the allowed host's, all of them that no rule opens. */
export const trapPorts = [22, 53, 80, 443, 3128, 8443] as const;
/** What the rule for the allowed host opens. */
export const openPorts: readonly number[] = [80, 443];

/**
 * Names that a rule allows and whose owner is hostile: what each resolves to, first and, where that differs, from
 * the second time on.
 */
export const hostile: Readonly<Record<string, readonly [string, string?]>> = {
  'metadata.test': ['169.254.169.254'],
  'loopback.test': ['127.0.0.1'],
  'six-loopback.test': ['::1'],
  'six-metadata.test': ['fd00:ec2::254'],
  'mapped.test': ['::ffff:10.0.0.66'],
  'private.test': ['192.168.0.66'],
  'shared.test': ['100.64.0.66'],
  'rebound.test': ['203.0.113.10', '169.254.169.254'],
};
