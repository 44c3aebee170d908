import { z } from 'zod';
import {
  configMapKeyRef,
  mapOf,
  objectName,
  relativeFolder,
  relativePath,
  relativePathKey,
  secretKeyRef,
  shortText,
  text,
} from '../schema/fields.ts';
import { exactlyOne, withRules } from '../schema/rules.ts';

const caSchema = withRules(
  z.strictObject({
    secretKeyRef: secretKeyRef.describe('A key of a Secret.').optional(),
    configMapKeyRef: configMapKeyRef.describe('A key of a ConfigMap.').optional(),
  }),
  [exactlyOne(['secretKeyRef', 'configMapKeyRef'])],
);

const gitSchema = z.strictObject({
  url: text(2048).describe('Address of the repository, over https.'),
  ref: shortText
    .describe('Branch, tag or commit. Default: the remote HEAD. The commit is pinned in status.')
    .optional(),
  path: relativePath.describe('Folder inside the repository. Default: its root.').optional(),
  credentials: secretKeyRef
    .describe('Token or key for the fetch; the running agent never sees it.')
    .optional(),
  ca: caSchema
    .describe(
      'Certificates (PEM) of the authorities that the server’s certificate may be signed by, in place of the public ones. Used for the fetch alone.',
    )
    .optional(),
});

const imageSchema = z.strictObject({
  reference: shortText.describe('Image whose file system holds the code.'),
  path: text(1024).describe('Folder inside the image. Default: its root.').optional(),
});

const configMapSchema = z.strictObject({
  name: objectName.describe('Name of the ConfigMap; each key becomes a file.'),
});

const pvcSchema = z.strictObject({
  claimName: objectName.describe('Name of the PersistentVolumeClaim.'),
  path: relativePath.describe('Folder inside the volume. Default: its root.').optional(),
});

const sources = ['path', 'git', 'image', 'configMap', 'pvc', 'inline'] as const;

/** Where the files under /code come from: exactly one source. */
export const codeSchema = withRules(
  z.strictObject({
    path: relativeFolder
      .describe('Folder on the host, relative to the workspace. Host sandboxes only.')
      .optional(),
    git: gitSchema.describe('A git repository. On a cluster only.').optional(),
    image: imageSchema.describe('An image used as a volume.').optional(),
    configMap: configMapSchema.describe('A ConfigMap.').optional(),
    pvc: pvcSchema.describe('A claim that holds the code.').optional(),
    inline: mapOf(relativePathKey, z.string().max(524_288), 64)
      .describe(
        'Files by relative path, with their content. For small agents: the whole object stays below 1 MiB.',
      )
      .optional(),
    writable: z
      .boolean()
      .describe(
        'Whether the agent may write below /code. Only for code.path; every other source is read-only.',
      )
      .default(false),
  }),
  [
    exactlyOne(sources),
    {
      rule: '!self.writable || has(self.path)',
      message: 'only code.path can be writable; remove writable or use path',
      at: '.writable',
      holds: (code) => !code.writable || code.path !== undefined,
    },
  ],
);
