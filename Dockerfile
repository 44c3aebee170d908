# The controller, the router, the egress proxy and the command line: one image, each a file in /app.
#   docker build -t ploinky/controller .        (podman build, buildah bud: the same)
ARG BASE=docker.io/library/node:24-bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
COPY . .
# PREBUILT=1 takes dist/ as it is in the context (`npm run build`), for a builder without a network.
ARG PREBUILT=
# Not `npm ci`: it refuses a lock file without the optional packages of this platform; versions are the lock file's.
RUN if [ -z "$PREBUILT" ]; then \
      npm install --no-save --omit=dev --no-audit --no-fund --loglevel=error && node scripts/build.ts app; \
    fi && test -f dist/app/ploinky.mjs

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="Ploinky controller" \
      org.opencontainers.image.description="Controller, router, egress proxy and command line of the Ploinky operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /src/dist/app/ /app/
COPY --from=build /src/LICENSE /app/LICENSE
ENV NODE_ENV=production
WORKDIR /app
# A number: the kubelet's runAsNonRoot looks at no /etc/passwd.
USER 10001:10001
# Probes are the cluster's, and each program has its own.
HEALTHCHECK NONE
ENTRYPOINT ["/usr/local/bin/node"]
CMD ["/app/ploinky.mjs", "--help"]
