/** Lists of folders: the image's come first, for its author knows where its programs are. */
const folderLists: readonly string[] = ['PATH', 'NODE_PATH', 'PYTHONPATH'];
/** What a container runtime and a cluster add for the agent-server itself. */
const notTheImages = /^(HOSTNAME|PLOINKY_INSTANCE|PLOINKY_SLOT|KUBERNETES_.*)$/;

/**
 * The environment of an agent that runs in an image: the image's own (`ENV` of its Dockerfile), and over it what the
 * agent is given. Pure.
 */
export function overImage(
  own: Readonly<Record<string, string>>,
  image: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const merged: Record<string, string> = {};
  for (const [name, value] of Object.entries(image)) {
    if (value !== undefined && !notTheImages.test(name)) merged[name] = value;
  }
  for (const [name, value] of Object.entries(own)) {
    const before = merged[name];
    merged[name] = folderLists.includes(name) && before ? joinFolders(before, value) : value;
  }
  return merged;
}

function joinFolders(first: string, then: string): string {
  return [...new Set([...first.split(':'), ...then.split(':')])].filter((folder) => folder !== '').join(':');
}
