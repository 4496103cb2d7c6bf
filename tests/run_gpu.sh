#!/bin/sh
# Runs every test that needs an NVIDIA GPU and says on what. Works offline: python3 must have torch with CUDA and
# pytest; nvcc 13 and CUTLASS's headers are found as `cutegen-git doctor` says (CUTEGEN_GIT_CUTLASS names a checkout).
# CUTEGEN_GIT_GPU_OUT names a folder for raw samples.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,power.limit --format=csv,noheader
"$python" -c 'import platform, torch; print("python", platform.python_version(), "torch", torch.__version__)'
nvcc --version 2>/dev/null | tail -n 2 || echo "no nvcc on PATH"
if "$python" -c 'import git' 2>/dev/null; then
  exec "$python" -m pytest -m gpu -p no:cacheprovider -rA "${@:-tests}"
fi
echo "gitpython is not installed: only the judge's own GPU tests run"
exec "$python" -m pytest -m gpu -p no:cacheprovider -rA --confcutdir=tests/judge "${@:-tests/judge}"
