/** What git and what is on its way say, and what to do about it. The first that is found counts. */
const remedies: readonly (readonly [says: RegExp, remedy: string])[] = [
  [
    /CONNECT tunnel failed, response 403|response 403 from proxy|HTTP code 403 from proxy/i,
    'The egress proxy does not lead there: list the server and its port in spec.network.installEgress.',
  ],
  [
    /certificate|CAfile|SSL_|\bTLS\b/i,
    'The server’s certificate is not of an authority that the fetch trusts: put the certificate (PEM) of the one that signed it into a ConfigMap or Secret, and name that in spec.code.git.ca.',
  ],
  [
    /Authentication failed|could not read (Username|Password)|returned error: 40[13]/i,
    'The server wants another credential: mend the Secret (a token, or user:password) that spec.code.git.credentials names.',
  ],
  [
    /couldn't find remote ref|did not match any file/i,
    'The repository has no such branch, tag or commit: mend spec.code.git.ref.',
  ],
];

/** What to do about a fetch that failed with this log, as a sentence after a space; empty when that is not known. */
export function gitRemedy(log = ''): string {
  const found = remedies.find(([says]) => says.test(log));
  return found === undefined ? '' : ` ${found[1]}`;
}
