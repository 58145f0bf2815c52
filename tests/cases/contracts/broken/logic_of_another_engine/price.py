def run(frame):
    return frame
